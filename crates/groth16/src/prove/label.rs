//! Names of rows: the part they belong to and what they state.

/// A part of the circuit: one line of its size table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Part {
    /// Bits and limbs of `mu`.
    Mu,
    /// Norm of `z`.
    Norm,
    /// Transforms of `z` and `c`, bits of `c`.
    Transforms,
    /// Ring products.
    Products,
    /// Reduction, Decompose and UseHint.
    Relation,
    /// Hash that gives the challenge.
    ChallengeHash,
    /// Permutation that expands the challenge.
    BallHash,
    /// Positions, shuffle and vector of SampleInBall.
    Ball,
    /// Switch and weight of a slot.
    Slot,
    /// Weight sum against the quorum.
    Quorum,
    /// One row for each public input.
    Inputs,
}

impl Part {
    /// All parts, in the order of the size table.
    pub const ALL: [Self; 11] = [
        Self::Mu,
        Self::Norm,
        Self::Transforms,
        Self::Products,
        Self::Relation,
        Self::ChallengeHash,
        Self::BallHash,
        Self::Ball,
        Self::Slot,
        Self::Quorum,
        Self::Inputs,
    ];

    /// Short name for reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mu => "mu",
            Self::Norm => "z range",
            Self::Transforms => "transforms",
            Self::Products => "products",
            Self::Relation => "reduction",
            Self::ChallengeHash => "challenge hash",
            Self::BallHash => "SampleInBall hash",
            Self::Ball => "SampleInBall",
            Self::Slot => "slot",
            Self::Quorum => "quorum",
            Self::Inputs => "inputs",
        }
    }
}

/// What a row states. Rows with the same rule and part form one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A bit of `mu` is 0 or 1.
    MuBit,
    /// A public limb of `mu` is the sum of its bits.
    MuLimb,
    /// A bit of the range of a coefficient of `z` is 0 or 1.
    NormBit,
    /// The range of a coefficient of `z` closes.
    NormLast,
    /// A sign indicator of a challenge coefficient is 0 or 1.
    ChallengeBit,
    /// A point of the transform of `z`.
    ResponseTransform,
    /// A point of the transform of `c`.
    ChallengeTransform,
    /// A point of one product of matrix entry and response.
    MatrixProduct,
    /// A point of one row of `A z - c t`.
    ProductSum,
    /// A bit of the low part is 0 or 1.
    LowBit,
    /// The range of the low part closes.
    LowLast,
    /// The sign of the low part is 0 or 1.
    PositiveBit,
    /// A bit of `w1` is 0 or 1.
    HighBit,
    /// A hint is 0 or 1.
    HintBit,
    /// The switch for the exceptional residue is 0 or 1.
    ExceptionBit,
    /// The hint counts upwards where the low part is positive.
    HintUp,
    /// No wrap from 15 to 0 unless `w1` is 0.
    WrapUpZero,
    /// A wrap from 15 to 0 if `w1` is 0.
    WrapUpForced,
    /// No wrap from 0 to 15 unless `w1` is 15.
    WrapDownZero,
    /// A wrap from 0 to 15 if `w1` is 15.
    WrapDownForced,
    /// The exceptional residue lies in bin 0 with the least low part.
    Exception,
    /// A bit of the quotient is 0 or 1.
    QuotientBit,
    /// The quotient closes the division by `q`.
    QuotientLast,
    /// A bit of the number of hints is 0 or 1.
    HintWeightBit,
    /// The number of hints is at most 55.
    HintWeightLast,
    /// Exclusive or of two bits.
    Xor2,
    /// Exclusive or of three bits.
    Xor3,
    /// The nonlinear step of Keccak.
    Chi,
    /// Whether a stream byte is accepted is 0 or 1.
    AcceptBit,
    /// A bit of the comparison of a stream byte is 0 or 1.
    CompareBit,
    /// The comparison of a stream byte adds up.
    CompareSum,
    /// A stream byte is the `k`-th accepted one.
    Select,
    /// The `k`-th accepted byte is the stream byte.
    SelectByte,
    /// All positions were found in the stream.
    AllFound,
    /// Equal positions differ by zero.
    EqualZero,
    /// Different positions are not called equal.
    EqualForced,
    /// An entry moves when its place is taken.
    Move,
    /// A bit of a final position is 0 or 1.
    PositionBit,
    /// A final position is the sum of its bits.
    PositionSum,
    /// One factor of two to the position.
    Power,
    /// The half of the vector in which an entry lies.
    SplitHalf,
    /// The sign of an entry.
    SplitSign,
    /// The challenge has exactly the sampled entries.
    Vector,
    /// The switch of a slot is 0 or 1.
    SwitchBit,
    /// The weight that a slot counts with.
    Counted,
    /// A bit of the surplus weight is 0 or 1.
    QuorumBit,
    /// The surplus weight is not negative.
    QuorumLast,
    /// A public input occurs.
    Input,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 48] = [
        Self::MuBit,
        Self::MuLimb,
        Self::NormBit,
        Self::NormLast,
        Self::ChallengeBit,
        Self::ResponseTransform,
        Self::ChallengeTransform,
        Self::MatrixProduct,
        Self::ProductSum,
        Self::LowBit,
        Self::LowLast,
        Self::PositiveBit,
        Self::HighBit,
        Self::HintBit,
        Self::ExceptionBit,
        Self::HintUp,
        Self::WrapUpZero,
        Self::WrapUpForced,
        Self::WrapDownZero,
        Self::WrapDownForced,
        Self::Exception,
        Self::QuotientBit,
        Self::QuotientLast,
        Self::HintWeightBit,
        Self::HintWeightLast,
        Self::Xor2,
        Self::Xor3,
        Self::Chi,
        Self::AcceptBit,
        Self::CompareBit,
        Self::CompareSum,
        Self::Select,
        Self::SelectByte,
        Self::AllFound,
        Self::EqualZero,
        Self::EqualForced,
        Self::Move,
        Self::PositionBit,
        Self::PositionSum,
        Self::Power,
        Self::SplitHalf,
        Self::SplitSign,
        Self::Vector,
        Self::SwitchBit,
        Self::Counted,
        Self::QuorumBit,
        Self::QuorumLast,
        Self::Input,
    ];
}

/// Part and rule of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// Part of the circuit.
    pub part: Part,
    /// What the row states.
    pub rule: Rule,
}

impl Label {
    pub(crate) const COUNT: usize = Part::ALL.len() * Rule::ALL.len();

    pub(crate) const fn index(self) -> usize {
        self.part as usize * Rule::ALL.len() + self.rule as usize
    }

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Part::ALL
            .into_iter()
            .flat_map(|part| Rule::ALL.into_iter().map(move |rule| Self { part, rule }))
    }
}
