//! Tables of the constant-time samplers.
//!
//! # Source
//! `spec/pulsar-speed.md` 6 and appendix A. The tests rebuild the alias table from its definition
//! and compare the SHA-256.

/// Threshold of each of the 64 columns, in units of 2^-64 of a column.
pub(crate) const THRESHOLD: [u64; 64] = [
    0xFFFF_FFFF_FFFF_FFFF,
    0x7E2C_8857_4F2B_D284,
    0xFB57_78B5_C6AF_3FAB,
    0x0E67_186D_8B41_8F44,
    0xA566_9852_80D4_B421,
    0xE644_143A_AFFE_218C,
    0xEB5E_EE41_527D_612D,
    0xC24E_156B_DFCB_9C80,
    0x6C75_22B0_0276_A218,
    0xE0B7_70E8_C883_069E,
    0x0DE9_AAE5_B552_F026,
    0xDD96_E314_7788_76DD,
    0x36B5_AE24_8701_7B44,
    0xDE41_69E5_2CA3_E99C,
    0x9AC7_4063_1F8F_650F,
    0x68EF_CDF3_2C1A_701B,
    0x4543_785E_43F8_2A96,
    0x2C82_257A_D499_739D,
    0x1BD8_2E1D_161C_F770,
    0x10F5_749E_0E08_5F66,
    0x0A0E_41BE_4C2B_EB71,
    0x05CE_083A_B924_3970,
    0x0343_2656_821C_2E4C,
    0x01C8_F0F3_B4E2_11AE,
    0x00F3_65C3_4A8B_2F9C,
    0x007E_3896_0769_5138,
    0x003F_B980_175D_DE7C,
    0x001F_524D_59EB_8D7E,
    0x000E_FCDF_A8A3_4936,
    0x0006_FB71_9EDA_3529,
    0x0003_2AAC_F74A_75BE,
    0x0001_65F3_0DBC_A877,
    0x0000_99DE_E8C2_9639,
    0x0000_4065_0C11_0C9B,
    0x0000_1A3C_84AF_4C72,
    0x0000_0A68_2564_D580,
    0x0000_0404_CD3D_E769,
    0x0000_0182_C7F1_10B6,
    0x0000_008D_90DA_7828,
    0x0000_0032_71B9_93C9,
    0x0000_0011_7FDC_39C3,
    0x0000_0005_E8FE_7B00,
    0x0000_0001_F179_2C26,
    0x0000_0000_9F3E_61BE,
    0x0000_0000_31A0_681E,
    0x0000_0000_0F0E_7C51,
    0x0000_0000_0472_8387,
    0x0000_0000_0147_64B8,
    0x0000_0000_005B_A7F7,
    0x0000_0000_0018_FB2E,
    0x0000_0000_0006_A0EE,
    0x0000_0000_0001_B65D,
    0x0000_0000_0000_6E3F,
    0x0000_0000_0000_1AFE,
    0x0000_0000_0000_066F,
    0x0000_0000_0000_017E,
    0x0000_0000_0000_0056,
    0x0000_0000_0000_0012,
    0x0000_0000_0000_0004,
    0x0000_0000_0000_0000,
    0x0000_0000_0000_0000,
    0x0000_0000_0000_0000,
    0x0000_0000_0000_0000,
    0x0000_0000_0000_0000,
];

/// Magnitude of a column when the number is not below its threshold.
pub(crate) const ALIAS: [u8; 64] = [
    0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2,
    2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 10,
    10, 12,
];

/// Factors of the twenty leaves of a wide sample.
pub(crate) const LEAF_FACTORS: [u64; 20] = [
    1,
    3,
    11,
    39,
    139,
    496,
    1_771,
    6_324,
    22_581,
    80_630,
    287_905,
    1_028_022,
    3_670_756,
    13_107_161,
    46_801_715,
    167_114_795,
    596_716_481,
    2_130_694_407,
    7_608_066_480,
    27_166_108_557,
];

/// Byte p of every threshold, most significant first: plane p + 1 is compared with it.
pub(crate) const THRESHOLD_PLANES: [[u8; 64]; 8] = {
    let mut planes = [[0; 64]; 8];
    let mut p = 0;
    while p < 8 {
        let mut k = 0;
        while k < 64 {
            planes[p][k] = THRESHOLD[k].to_be_bytes()[p];
            k += 1;
        }
        p += 1;
    }
    planes
};
